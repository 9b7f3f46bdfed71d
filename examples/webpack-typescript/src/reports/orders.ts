/** The report of all orders. */
import { type Report, tableOf } from '../report.js'

type Currency = 'EUR' | 'USD'

interface Order {
  readonly id: number
  readonly customer: string
  readonly amounts: ReadonlyMap<Currency, number>
  readonly paidAt?: Date
}

const ORDERS: readonly Order[] = [
  { id: 1, customer: 'Ada', amounts: new Map([['EUR', 120]]), paidAt: new Date(0) },
  { id: 2, customer: 'Grace', amounts: new Map([['USD', 75.5], ['EUR', 3]]) },
]

abstract class Query<T> {
  protected abstract matches(item: T): boolean

  *select(items: Iterable<T>): Generator<T> {
    for (const item of items) if (this.matches(item)) yield item
  }
}

class OpenOrders extends Query<Order> {
  constructor(private readonly customer?: string) {
    super()
  }

  protected override matches({ customer, paidAt }: Order): boolean {
    return paidAt === undefined && (this.customer === undefined || customer === this.customer)
  }
}

class EveryOrder extends Query<Order> {
  protected override matches(): boolean {
    return true
  }
}

function totalOf(orders: Iterable<Order>, currency: Currency): number {
  let total = 0
  for (const { amounts } of orders) total += amounts.get(currency) ?? 0
  return total
}

export function makeReport(): Report {
  const queries = { open: new OpenOrders(), all: new EveryOrder() } satisfies Record<string, Query<Order>>
  const rows = Object.entries(queries).map(([name, query]) => {
    const orders = [...query.select(ORDERS)]
    return [name, String(orders.length), totalOf(orders, 'EUR').toFixed(2), totalOf(orders, 'USD').toFixed(2)]
  })
  return tableOf('Orders', [['query', 'orders', 'EUR', 'USD'], ...rows])
}
