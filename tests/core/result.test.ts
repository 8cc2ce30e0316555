import { expect, test } from 'bun:test'
import { DrizzleQueryError } from 'drizzle-orm'
import { reasonOf } from '../../server/core/result'

test('the reason of a query that failed is its cause, never the statement or its values', () => {
  const query = (cause?: Error) => new DrizzleQueryError('SELECT secret', ['hunter2'], cause)
  expect(reasonOf(query(new Error('database is locked')))).toBe('database is locked')
  expect(reasonOf(query(query(new Error('no answer'))))).toBe('no answer')
  const other = new Error('the report failed', { cause: new Error('no answer') })
  expect([reasonOf(other), reasonOf('text')]).toEqual(['the report failed', 'text'])
})
