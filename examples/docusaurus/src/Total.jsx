export function Total({ amounts }) {
  const total = amounts.reduce((sum, amount) => sum + amount, 0)
  return <b>{total.toFixed(2)}</b>
}
