import { customType, integer } from 'drizzle-orm/sqlite-core'
import { type Money, micros } from '../../../../core/money'

/** Micro-USD in an INTEGER column. */
export const money = customType<{ data: Money; driverData: number }>({
  dataType: () => 'integer',
  fromDriver: (value) => micros(Number(value)),
  toDriver: (value) => value,
})

/** Milliseconds since the epoch in an INTEGER column. */
export const instant = (name: string) => integer(name)
