// Notes each asset that Parcel transforms.
const { appendFileSync } = require('node:fs')
const { Reporter } = require('@parcel/plugin')

module.exports = new Reporter({
  report({ event }) {
    if (event.type === 'buildProgress' && event.phase === 'transforming')
      appendFileSync('.runs-cache', `${event.filePath}\n`)
  },
})
