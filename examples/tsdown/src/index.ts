/** What users of the library import. */
export { Orders } from './components/Orders.tsx'
export type { Order } from './order.ts'
