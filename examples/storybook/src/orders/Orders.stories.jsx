import { Orders } from './Orders.jsx'

export default { title: 'Orders', component: Orders }

export const Default = {}
