import { expect, test } from 'bun:test'
import fc from 'fast-check'
import type { AccountId } from '../../server/core/ids'
import type { LedgerEntry } from '../../server/core/ledger/entry'
import { answerOfAll } from '../../server/http/operator/cells/all-cells'
import { bookCommands } from '../../server/http/operator/money/books'
import { revenueCommands } from '../../server/http/operator/money/revenue'
import { call, charge, entry, NOON, openTestStores, type TestStores } from '../support/ledger-parts'

const ACCOUNTS = 6
const CELLS = 3
const ACTOR = { kind: 'operator', id: 'test', address: null } as const
const DAY = { from: '2026-11-21T00:00:00Z', to: '2026-11-22T00:00:00Z' }

/** What happened to one account; `kind` says whether a call was charged, credit granted, a payment made, or an overrun borne. */
const event = fc.record({
  owner: fc.nat(ACCOUNTS - 1),
  kind: fc.constantFrom('call', 'call', 'failed', 'grant', 'top_up', 'payment', 'overrun'),
  operation: fc.constantFrom('image-search', 'llm-context', 'shop.buy'),
  amount: fc.integer({ min: 1, max: 9_000 }),
  /** Seconds, also before and after the period. */
  at: fc.constantFrom(-90_000, -60, 0, 1, 2, 60, 90_000),
})
type Event = typeof event extends fc.Arbitrary<infer T> ? T : never

function recordOf({ kind, operation, amount, at: seconds }: Event, account: AccountId) {
  const at = NOON + seconds * 1000
  const moved = (more: Partial<LedgerEntry>) => ({ entries: [entry(account, amount, { at, ...more })] })
  if (kind === 'call' || kind === 'failed') {
    const made = call(account, kind === 'call' ? amount : null, { at, operation: operation as never })
    return kind === 'failed' ? { call: made, entries: [] } : charge(account, amount, { call: made })
  }
  if (kind === 'grant') return moved({ kind })
  if (kind === 'top_up') return moved({ kind, debit: 'house/top_ups', credit: `${account}/paid` })
  if (kind === 'overrun') return moved({ kind, debit: 'house/overrun', credit: 'house/revenue' })
  return moved({ kind: 'payment', accountId: null, debit: 'house/payments', credit: 'house/revenue' })
}

function commandsOf({ stores }: TestStores) {
  const operator = { noteBooks: async () => {} } as never
  const identity = { user: async (id: string) => ({ id, email: `${id}@example.com`, name: '' }) } as never
  const { accounting, revenue, accounts } = stores
  const parts = { operator, accounting, revenue, accounts, identity, now: () => NOON }
  return { ...bookCommands(parts, ACTOR), ...revenueCommands(parts) }
}

async function answerOf(stores: TestStores, command: string, body: object): Promise<Response> {
  const answer = await commandsOf(stores)[command]?.run(body)
  if (!answer?.ok) throw new Error(JSON.stringify(answer))
  return answer.value instanceof Response ? answer.value : Response.json(answer.value)
}

/** What all of these cells answer together. */
async function joined(cells: readonly TestStores[], command: string, body: Record<string, string>): Promise<string> {
  const target = commandsOf(cells[0] as TestStores)[command]?.cells
  if (typeof target !== 'object') throw new Error(`${command} is no report`)
  const question = {
    ask: (cell: string) => answerOf(cells[Number(cell)] as TestStores, command, body),
    asked: (name: string) => body[name] ?? null,
    isUp: async () => true,
  }
  const names = cells.map((_, at) => String(at))
  return (await answerOfAll(names, target, question)).text()
}

const QUESTIONS: readonly (readonly [string, Record<string, string>])[] = [
  ['statement', DAY],
  ['statement-csv', DAY],
  ['books', { ...DAY, entries: 'true' }],
  ...['day', 'operation', 'account', 'rail', 'model'].flatMap((group_by) => [
    ['revenue', { from: '2026-11-20', to: '2026-11-22', group_by }] as const,
    ['revenue-csv', { from: '2026-11-20', to: '2026-11-22', group_by }] as const,
  ]),
]

/** Without what differs by database: the numbers of entries, ids of openings, and which of two at the same moment came first. */
function comparable(command: string, text: string): unknown {
  if (command === 'statement') {
    const { kinds, ...rest } = JSON.parse(text)
    return { ...rest, kinds: kinds.sort((a: { kind: string }, b: { kind: string }) => (a.kind < b.kind ? -1 : 1)) }
  }
  if (command !== 'books') return command === 'revenue' ? JSON.parse(text) : text.split('\r\n')
  const lines = text
    .trim()
    .split('\r\n')
    .map((line) => line.split(',').toSpliced(2, 2).join())
  return {
    entries: lines.filter((line) => line.startsWith('entry')).sort(),
    rest: lines.filter((line) => !line.startsWith('entry')),
  }
}

test('any division of the same accounts among cells gives the same reports as one cell', async () => {
  const [one, ...cells] = await Promise.all(Array.from({ length: CELLS + 1 }, () => openTestStores()))
  if (!one) throw new Error('no stores')
  const owners: AccountId[] = []
  const homes: TestStores[] = []
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.nat(CELLS - 1), { minLength: ACCOUNTS, maxLength: ACCOUNTS }),
      fc.array(event, { minLength: 1, maxLength: 25 }),
      async (division, events) => {
        // Each run opens accounts of its own, in cells of their own, beside those of the runs before.
        const first = owners.length
        for (const home of division) {
          const cell = cells[home] as TestStores
          const account = await one.account(100_000_000)
          await cell.open(account, 100_000_000)
          owners.push(account)
          homes.push(cell)
        }
        for (const happened of events) {
          const account = owners[first + happened.owner] as AccountId
          const record = recordOf(happened, account)
          for (const stores of [one, homes[first + happened.owner] as TestStores])
            expect((await stores.journal.append(record)).kind).toBe('committed')
        }
        await Promise.all([one, ...cells].map((stores) => stores.applied()))
        for (const [command, body] of QUESTIONS) {
          const alone = await (await answerOf(one, command, body)).text()
          expect(comparable(command, await joined(cells, command, body))).toEqual(comparable(command, alone))
        }
      },
    ),
    { numRuns: 15 },
  )
  await Promise.all([one, ...cells].map((stores) => stores.close()))
})
