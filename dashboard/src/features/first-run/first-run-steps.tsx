import { useMutation, useQuery } from '@tanstack/react-query'
import { type ReactNode, useId } from 'react'
import { newestRequestsQuery } from '../../api/requests.ts'
import { runSample } from '../../api/run-sample.ts'
import { FIRST_RUN_TEXT as TEXT } from '../../messages/first-run.ts'
import { firstRequest } from '../../sample.ts'
import { ArrivalLine } from '../../ui/arrival-line.tsx'
import { Button } from '../../ui/button.tsx'
import { KeyReveal } from '../../ui/key-reveal.tsx'
import { SampleTabs } from '../../ui/sample-tabs.tsx'
import { ThisHour } from './this-hour.tsx'

/** Save the key, run a request, see it arrive: from a key to live usage on one screen. */
export function FirstRunSteps({ keyId, secret, onSaved }: { keyId: string; secret: string; onSaved: () => void }) {
  const arrived = useQuery(newestRequestsQuery(1, keyId)).data?.[0] ?? null
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
      </Step>
      <Step number={3} title={TEXT.seeIt}>
        <ArrivalLine arrived={arrived}>
          <ThisHour />
        </ArrivalLine>
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
