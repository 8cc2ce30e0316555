import { Elysia } from 'elysia'
import type { AccountId } from '../../core/ids'
import type { Statements } from '../../core/ledger/statement'
import { formatUsd } from '../../core/money'
import { csvLine } from '../csv'
import { BILLING_DOCS } from '../docs/billing-docs'
import { documented } from '../docs/documented'
import type { OwnerSessions } from '../owner-session'

const HEAD = ['time_utc', 'transaction_id', 'kind', 'description', 'amount_usd', 'balance_after_usd', 'request_id']
const PAGE = 200

/** The movements of money of an account as a file, page by page, so that a long one takes no memory. */
export function ledgerCsvRoutes({ owners, statements }: { owners: OwnerSessions; statements: Statements }) {
  return new Elysia({ name: 'ledger-csv' }).get(
    '/api/transactions.csv',
    async ({ request }) => {
      const { accountId } = await owners.owner(request)
      return new Response(lines(statements, accountId), {
        headers: {
          'content-type': 'text/csv; charset=utf-8',
          'content-disposition': 'attachment; filename="ledger.csv"',
          'cache-control': 'no-store',
        },
      })
    },
    documented(BILLING_DOCS.ledgerCsv),
  )
}

function lines(statements: Statements, account: AccountId): ReadableStream {
  const encoder = new TextEncoder()
  let cursor: string | null = null
  return new ReadableStream({
    start: (controller) => controller.enqueue(encoder.encode(csvLine(HEAD))),
    async pull(controller) {
      const page = await statements.transactions(account, PAGE, cursor)
      const text = (page?.rows ?? []).map((row) =>
        csvLine([
          new Date(row.at).toISOString(),
          row.id,
          row.kind,
          row.description,
          Number(formatUsd(row.amount)),
          Number(formatUsd(row.balanceAfter)),
          row.requestId,
        ]),
      )
      if (text.length > 0) controller.enqueue(encoder.encode(text.join('')))
      cursor = page?.next ?? null
      if (cursor === null) controller.close()
    },
  })
}
