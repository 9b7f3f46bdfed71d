import { useState } from 'react'

const FIRST_ORDERS = [
  { id: 1, customer: 'Ada', amount: 120, isPaid: true },
  { id: 2, customer: 'Grace', amount: 75.5, isPaid: false },
]

function Row({ order, onPaid }) {
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

function Table({ orders, onPaid }) {
  const total = orders.reduce((sum, { amount }) => sum + amount, 0)
  return (
    <table>
      <thead>
        <tr><th>Number</th><th>Customer</th><th>Amount</th><th>Paid</th></tr>
      </thead>
      <tbody>{orders.map((order) => <Row key={order.id} order={order} onPaid={onPaid} />)}</tbody>
      <tfoot>
        <tr><td colSpan={2}>Total</td><td colSpan={2}>{total.toFixed(2)}</td></tr>
      </tfoot>
    </table>
  )
}

export default function Orders() {
  const [orders, setOrders] = useState(FIRST_ORDERS)
  const [query, setQuery] = useState('')
  const [onlyOpen, setOnlyOpen] = useState(false)
  const shown = orders.filter(({ customer, isPaid }) => customer.includes(query) && !(onlyOpen && isPaid))
  const togglePaid = (id) => setOrders(orders.map((order) => (order.id === id ? { ...order, isPaid: !order.isPaid } : order)))
  const add = (event) => {
    event.preventDefault()
    setOrders([...orders, { id: orders.length + 1, customer: query || 'New customer', amount: 10, isPaid: false }])
  }
  return (
    <section>
      <h2>Orders</h2>
      <form onSubmit={add}>
        <label>Customer <input type="search" value={query} onChange={({ target }) => setQuery(target.value)} /></label>
        <label><input type="checkbox" checked={onlyOpen} onChange={() => setOnlyOpen(!onlyOpen)} /> only open ones</label>
        <button type="submit">Add</button>
      </form>
      {shown.length === 0 ? <p>No orders match.</p> : <Table orders={shown} onPaid={togglePaid} />}
    </section>
  )
}
