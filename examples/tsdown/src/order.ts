/** One order of a customer. */
export interface Order {
  readonly id: number
  readonly customer: string
  readonly amount: number
  readonly isPaid: boolean
}
