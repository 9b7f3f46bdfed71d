import { useState } from 'react'

const pages = import.meta.webpackContext('./pages', { regExp: /\.jsx$/ })
const names = pages.keys()

export function App() {
  const [name, setName] = useState(names[0])
  const Page = pages(name).default
  return (
    <>
      <nav>
        {names.map((each) => <button key={each} disabled={each === name} onClick={() => setName(each)}>{each}</button>)}
      </nav>
      <main>
        <Page />
      </main>
    </>
  )
}
