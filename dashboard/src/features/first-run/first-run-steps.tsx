import { useMutation, useQuery } from '@tanstack/react-query'
import { type ReactNode, useId } from 'react'
import { accountQuery } from '../../api/account/account.ts'
import { failureFrom } from '../../api/client/failure.ts'
import { runSample } from '../../api/playground/try-call.ts'
import { newestRequestsQuery } from '../../api/requests.ts'
import { usageQuery, VIEWER_TIME_ZONE } from '../../api/usage.ts'
import { FIRST_RUN_TEXT as TEXT } from '../../messages/first-run.ts'
import { firstRequest } from '../../sample.ts'
import { Button } from '../../ui/button.tsx'
import { Meter } from '../../ui/charts/meter.tsx'
import { KeyReveal } from '../../ui/code/key-reveal.tsx'
import { SampleTabs } from '../../ui/code/sample-tabs.tsx'
import { FormFailure } from '../../ui/feedback/failure.tsx'
import { costUsd } from '../../ui/format/money.ts'
import { useNow } from '../../ui/format/time.tsx'
import { FirstRequestStatus } from '../../ui/requests/first-request-status.tsx'

/** Save the key, make a request and see it arrive, on one screen. */
export function FirstRunSteps({ keyId, secret, onSaved }: { keyId: string; secret: string; onSaved: () => void }) {
  const newest = useQuery(newestRequestsQuery(1, keyId)).data?.[0] ?? null
  const sample = firstRequest({ secret })
  const running = useMutation({ mutationFn: () => runSample(sample) })
  return (
    <ol className="grid gap-6">
      <Step number={1} title={TEXT.saveKey}>
        <KeyReveal secret={secret} onCopied={onSaved} />
      </Step>
      <Step number={2} title={TEXT.run}>
        <SampleTabs sample={sample} onCopied={onSaved}>
          <Button busy={running.isPending} onClick={() => running.mutate()}>
            {running.isPending ? TEXT.running : TEXT.runHere}
          </Button>
        </SampleTabs>
        {newest === null && <FormFailure failure={failureFrom(running)} />}
      </Step>
      <Step number={3} title={TEXT.seeIt}>
        <FirstRequestStatus request={newest}>
          <ThisHour />
        </FirstRequestStatus>
      </Step>
    </ol>
  )
}

function Step({ number, title, children }: { number: number; title: string; children: ReactNode }) {
  const heading = useId()
  return (
    <li aria-labelledby={heading} className="grid min-w-0 gap-4 rounded-xl border border-line bg-surface p-4 sm:p-6">
      <h2 id={heading} className="flex items-center gap-3">
        <span aria-hidden className="grid size-6 place-items-center rounded-full bg-accent-soft text-xs text-accent">
          {number}
        </span>
        {title}
      </h2>
      {children}
    </li>
  )
}

const HOUR_SECONDS = 3_600

/** The requests and cost of this hour, and the balance. */
function ThisHour() {
  const start = Math.floor(useNow() / 1000 / HOUR_SECONDS) * HOUR_SECONDS
  const params = {
    start_time: start,
    end_time: start + HOUR_SECONDS,
    bucket_width: '1h',
    timezone: VIEWER_TIME_ZONE,
  } as const
  const totals = useQuery(usageQuery(params)).data?.totals
  const balance = useQuery(accountQuery).data?.balance_micros_usd ?? 0
  if (!totals) return null
  const { requests, charged_micros_usd: cost } = totals
  const text = TEXT.thisHour(requests, costUsd(cost))
  return (
    <div className="grid max-w-xs gap-1">
      <p className="small text-muted">{text}</p>
      <Meter label={text} used={cost} max={cost + balance} text={text} />
    </div>
  )
}
