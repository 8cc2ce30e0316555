import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import type { RecordedCall } from '../../api/playground/chat.ts'
import { CHAT_TEXT as TEXT } from '../../messages/chat.ts'
import { REQUEST_TEXT } from '../../messages/requests.ts'
import { CopyButton } from '../../ui/code/copy-button.tsx'
import { costUsd, grouped } from '../../ui/format/money.ts'
import { Card } from '../../ui/layout/card.tsx'
import { FactList } from '../../ui/layout/fact-list.tsx'
import { RequestFailure } from '../../ui/requests/request-failure.tsx'
import type { ChatOutcome } from './use-chat.ts'

/** The result of the last call: why it stopped, how long it took, and how its cost was calculated. */
export function ChatResult({ outcome }: { outcome: ChatOutcome }) {
  const { completion, recorded } = outcome
  const { failure } = completion
  return (
    <Card title={TEXT.result}>
      {failure && <RequestFailure failure={failure} />}
      {completion.stopped && <p>{completion.text === '' ? TEXT.stoppedEarly : TEXT.stopped}</p>}
      {completion.capped && <p>{TEXT.capped}</p>}
      {recorded === undefined && <p role="status">{TEXT.asking}</p>}
      {recorded === null && <p role="status">{failure && completion.text === '' ? TEXT.nothing : TEXT.unknown}</p>}
      {recorded && <CallDetails outcome={outcome} call={recorded} />}
    </Card>
  )
}

function CallDetails({ outcome: { completion }, call }: { outcome: ChatOutcome; call: RecordedCall }) {
  const { input_tokens: input, output_tokens: output, cache_read_tokens: read, cache_write_tokens: written } = call
  const first = completion.firstMs === null || completion.firstMs === completion.ms ? null : grouped(completion.firstMs)
  const facts: readonly (readonly [string, ReactNode] | null)[] = [
    [
      TEXT.cost,
      <span key="cost" role="status" className="font-medium">
        {call.cost_micros_usd > 0 ? TEXT.charged(costUsd(call.cost_micros_usd)) : TEXT.nothing}
      </span>,
    ],
    [TEXT.tokens, TEXT.inOut(grouped(input), grouped(output))],
    read + written === 0 ? null : [REQUEST_TEXT.cache, TEXT.cached(grouped(read), grouped(written))],
    call.usage_source === null ? null : [TEXT.counted, TEXT.source[call.usage_source]],
    [TEXT.time, TEXT.took(grouped(completion.ms), first)],
    call.charge === null
      ? null
      : [
          TEXT.reckoned,
          <span key="sum" className="small wrap-anywhere">
            {call.charge.arithmetic}
          </span>,
        ],
    [
      TEXT.request,
      <span key="id" className="code wrap-anywhere">
        {call.id}
      </span>,
    ],
  ]
  return (
    <>
      <FactList facts={facts.filter((fact) => fact !== null)} />
      <div className="flex flex-wrap items-center gap-3">
        <CopyButton label={REQUEST_TEXT.copyId} text={call.id} />
        <Link
          to="/usage"
          search={{ tab: 'requests', range: '24h', ...(call.model !== null && { model: call.model }) }}
          className="text-accent underline"
        >
          {TEXT.log}
        </Link>
      </div>
    </>
  )
}
