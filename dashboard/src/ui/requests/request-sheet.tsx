import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { operationLabel, REQUEST_TEXT as TEXT } from '../../messages/requests.ts'
import { buttonClass } from '../button.tsx'
import { CopyButton } from '../code/copy-button.tsx'
import { Dialog } from '../dialogs/dialog.tsx'
import { grouped } from '../format/money.ts'
import { FullTime } from '../format/time.tsx'
import { FactList, type Facts } from '../layout/fact-list.tsx'
import { FailureCodeMeaning } from './failure-code-meaning.tsx'
import { type RequestRow, requestCost, StatusBadge } from './request-row.tsx'

/** All details of one request. */
export function RequestSheet({ row, keyLabel, onClose }: RequestSheetProps) {
  const { columns } = TEXT
  const facts: Facts = [
    [columns.at, <FullTime key="at" at={row.at} />],
    [columns.status, <StatusBadge key="status" {...row} />],
    [columns.operation, operationLabel(row.operation)],
    ...(row.model === null ? [] : [[columns.model, <Code key="model">{row.model}</Code>] as const]),
    [columns.key, keyLabel(row.key_id)],
    [columns.cost, requestCost(row)],
    ...tokenFacts(row),
    [columns.latency, TEXT.latency(row.latency_ms)],
    [columns.ip, <Code key="ip">{row.ip}</Code>],
    [columns.id, <Code key="id">{row.id}</Code>],
    ...(row.client_request_id === null
      ? []
      : [[TEXT.clientId, <Code key="own">{row.client_request_id}</Code>] as const]),
  ]
  return (
    <Dialog side title={TEXT.sheet} onClose={onClose}>
      {row.code !== null && <FailureCodeMeaning code={row.code} caller={row.key_id} />}
      <FactList facts={facts} />
      <div className="flex flex-wrap gap-2">
        <Link to="/requests/$id" params={{ id: row.id }} className={buttonClass()}>
          {TEXT.explain}
        </Link>
        <CopyButton label={TEXT.copyId} text={row.id} />
      </div>
      <p className="small text-muted">{TEXT.noBodies}</p>
    </Dialog>
  )
}

type RequestSheetProps = { row: RequestRow; keyLabel: (id: string) => string; onClose: () => void }

/** The tokens of a model call: the counts, the cached part, and who counted them. */
function tokenFacts(row: RequestRow): Facts {
  const { input_tokens: input, output_tokens: output, cache_read_tokens: read, cache_write_tokens: written } = row
  return [
    [TEXT.columns.tokens, TEXT.tokens(grouped(input), grouped(output))],
    ...(read + written === 0 ? [] : [[TEXT.cache, TEXT.cached(grouped(read), grouped(written))] as const]),
    ...(row.usage_source === null ? [] : [[TEXT.counted, TEXT.source[row.usage_source]] as const]),
  ]
}

function Code({ children }: { children: ReactNode }) {
  return <span className="code wrap-anywhere">{children}</span>
}
