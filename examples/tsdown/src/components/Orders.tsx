import { type ReactElement, useState } from 'react'
import type { Order } from '../order.ts'

function Row({ order, onPaid }: { order: Order; onPaid: (id: number) => void }): ReactElement {
  const { id, customer, amount, isPaid } = order
  return (
    <tr className={isPaid ? '' : 'open'}>
      <td>{id}</td>
      <td>{customer}</td>
      <td>{amount.toFixed(2)}</td>
      <td><input type="checkbox" checked={isPaid} onChange={() => onPaid(id)} aria-label={`Order ${id} is paid`} /></td>
    </tr>
  )
}

/** A table of orders, with a field to search for customers. */
export function Orders({ orders, onPaid }: { orders: readonly Order[]; onPaid: (id: number) => void }): ReactElement {
  const [query, setQuery] = useState('')
  const shown = orders.filter(({ customer }) => customer.includes(query))
  const total = shown.reduce((sum, { amount }) => sum + amount, 0)
  return (
    <section>
      <label>Customer <input type="search" value={query} onChange={({ target }) => setQuery(target.value)} /></label>
      <table>
        <tbody>{shown.map((order) => <Row key={order.id} order={order} onPaid={onPaid} />)}</tbody>
        <tfoot>
          <tr><td colSpan={2}>Total</td><td colSpan={2}>{total.toFixed(2)}</td></tr>
        </tfoot>
      </table>
    </section>
  )
}
