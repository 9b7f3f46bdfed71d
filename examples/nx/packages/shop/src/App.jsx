import { useState } from 'react'

const pages = import.meta.glob('../../ui/src/*.jsx', { eager: true, import: 'default' })
const names = Object.keys(pages)

export function App() {
  const [name, setName] = useState(names[0])
  const Page = pages[name]
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
