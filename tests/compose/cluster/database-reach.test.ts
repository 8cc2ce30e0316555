import { describe, expect, test } from 'bun:test'
import { DatabaseReach } from '../../../server/compose/cluster/roles/database-reach'
import { testNodes } from './test-nodes'

describe('a node', () => {
  test('takes no cell whose database does not answer it, refuses its requests at once, and leaves it to a node that reaches it', async () => {
    const { start, time, opened, granting, lines } = testNodes(['main', 'c2'])
    const a = start('a')
    a.link.silent = ['c2']
    await time.pass(3_000)
    const c2 = a.role.of('c2')
    expect([opened.map(({ cell }) => cell), c2?.silence, c2?.isWilling]).toEqual([['main'], 'no answer', false])
    expect(await c2?.found()).toBe(null)
    expect(a.role.problem()).toBe(null)
    expect(await a.started).toBe(null)
    expect(lines.filter((line) => line.includes('does not answer'))).toEqual([
      'a error: the database of a cell does not answer',
    ])
    start('b')
    await time.pass(3_000)
    expect([granting(), c2?.silence, c2?.owner()?.nodeId]).toEqual([['a', 'b'], null, 'b'])
  })

  test('takes it when the database answers again', async () => {
    const { start, time, opened } = testNodes(['main', 'c2'])
    const { role, link } = start('a')
    await time.pass(1_000)
    link.silent = ['c2']
    opened.find(({ cell }) => cell === 'c2')?.lose('the database did not answer for 10 s')
    await time.pass(30_000)
    expect([role.of('c2')?.name, role.of('main')?.name, opened.length]).toEqual(['standby', 'owner', 2])
    link.silent = []
    await time.pass(3_000)
    expect([role.of('c2')?.name, opened.length]).toEqual(['owner', 3])
  })
})

test('a database that takes its time is asked once, and its answer counts when it comes', async () => {
  const answer = Promise.withResolvers<string | null>()
  let asked = 0
  const reach = new DatabaseReach({
    ask: () => {
      asked++
      return answer.promise
    },
    monotonic: () => 0,
    onChange: () => undefined,
  })
  expect([await reach.answers(), await reach.answers(), asked]).toEqual([false, false, 1])
  answer.resolve(null)
  await answer.promise
  expect([await reach.answers(), asked]).toEqual([true, 1])
})
