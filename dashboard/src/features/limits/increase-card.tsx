import { useQuery } from '@tanstack/react-query'
import { type LimitRequest, limitRequestsQuery } from '../../api/billing/limits.ts'
import { toFailure } from '../../api/client/failure.ts'
import { LIMIT_TEXT as TEXT } from '../../messages/limits.ts'
import { Badge } from '../../ui/badge.tsx'
import { Failed } from '../../ui/feedback/failure.tsx'
import { Loading } from '../../ui/feedback/states.tsx'
import { grouped } from '../../ui/format/money.ts'
import { TimeAgo } from '../../ui/format/time.tsx'
import { Card } from '../../ui/layout/card.tsx'
import { LimitRequestForm } from './limit-request-form.tsx'

const TONES = { pending: 'warn', approved: 'ok', declined: 'bad' } as const

/** Requests an increase, one at a time, and lists earlier requests with their decision. */
export function IncreaseCard() {
  const query = useQuery(limitRequestsQuery)
  const requests = query.data?.requests
  return (
    <Card title={TEXT.request}>
      {query.error && <Failed failure={toFailure(query.error)} onRetry={() => void query.refetch()} />}
      {requests === undefined && !query.error && <Loading />}
      {requests && !requests.some(({ status }) => status === 'pending') && <LimitRequestForm />}
      {requests && requests.length > 0 && (
        <ul aria-label={TEXT.history} className="grid gap-3">
          {requests.map((request) => (
            <PastRequest key={request.id} request={request} />
          ))}
        </ul>
      )}
    </Card>
  )
}

function PastRequest({ request }: { request: LimitRequest }) {
  const { status, reason, use_case: useCase, created_at: at } = request
  return (
    <li className="grid gap-1 border-t border-line pt-3 first:border-t-0 first:pt-0">
      <div className="flex flex-wrap items-center gap-2">
        <Badge tone={TONES[status]}>{TEXT.states[status]}</Badge>
        <span className="font-medium">{TEXT.requested(grouped(request.peak_rpm), grouped(request.peak_tpm))}</span>
        <span className="small text-muted">
          <TimeAgo at={at} />
        </span>
      </div>
      <p className="text-muted wrap-anywhere">{useCase}</p>
      {reason && <p className="wrap-anywhere">{TEXT.operatorSays(reason)}</p>}
      {status === 'pending' && <p className="small text-muted">{TEXT.pendingText}</p>}
    </li>
  )
}
