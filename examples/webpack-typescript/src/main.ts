/** Prints all reports in `reports/`. */
import type { Report } from './report.js'

const reports = import.meta.webpackContext('./reports', { regExp: /\.ts$/ })

for (const name of reports.keys()) {
  const { makeReport } = reports(name) as { makeReport: () => Report }
  console.log(name, makeReport().lines.join('\n'))
}
