import { expect, test } from 'bun:test'
import { answerOfAll } from '../../../../server/http/operator/cells/all-cells'
import { databaseAnswers } from '../../../../server/http/operator/cells/database-answers'
import { ACCOUNTS } from '../../../../server/http/operator/cells/report-joins'

const never = Promise.withResolvers<never>().promise

function question(isUp: boolean, answers: Readonly<Record<string, Promise<Response>>>) {
  return {
    ask: (cell: string) => answers[cell] ?? never,
    asked: () => null,
    isUp: async () => isUp,
    slowMs: 1,
  }
}
const page = () => Response.json({ accounts: [{ id: 'acct_1' }], next_cursor: null })

test('a report goes without a cell whose database does not answer, and does not wait for its queries', async () => {
  const answer = await answerOfAll(['main', 'c2'], ACCOUNTS, question(false, { main: Promise.resolve(page()) }))
  expect(await answer.json()).toEqual({ accounts: [{ id: 'acct_1' }], next_cursor: null, missing_cells: ['c2'] })
})

test('a report waits for a slow cell whose database answers', async () => {
  const slow = Promise.withResolvers<Response>()
  const asked = question(true, { main: Promise.resolve(page()), c2: slow.promise })
  const isUp = async () => {
    slow.resolve(Response.json({ accounts: [{ id: 'acct_2' }], next_cursor: null }))
    return true
  }
  const answer = await answerOfAll(['main', 'c2'], ACCOUNTS, { ...asked, isUp })
  expect(await answer.json()).toEqual({ accounts: [{ id: 'acct_2' }, { id: 'acct_1' }], next_cursor: null })
})

test('a database answers if the details of its gateway say so', async () => {
  const says = (answer: Response) => databaseAnswers({ command: async () => answer }, 'c2')
  expect(await says(Response.json({ status: 'not_ready', checks: { database: true, search: false } }))).toBe(true)
  expect(await says(Response.json({ status: 'not_ready', checks: { database: false } }))).toBe(false)
  expect(await says(Response.json({ error: { code: 'service_unavailable' } }, { status: 503 }))).toBe(false)
  expect(await says(new Response('not JSON'))).toBe(false)
})
