import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { failureIn } from '../../api/failure.ts'
import type { GatewayOperation } from '../../api/operations.ts'
import { tryCall } from '../../api/try-call.ts'
import { PLAYGROUND_TEXT as TEXT } from '../../messages/playground.ts'
import type { Sample } from '../../sample.ts'
import { Card } from '../../ui/card.tsx'
import { SampleTabs } from '../../ui/sample-tabs.tsx'
import { useCountdown } from '../../ui/use-countdown.ts'
import { type Charging, chargeOf, NOT_CHOSEN, usePayingKeys } from './charge-to.tsx'
import { callOf, problemOf, type Typed } from './form-values.ts'
import { TryForm } from './try-form.tsx'
import { TryResult } from './try-result.tsx'

/** One operation to try: its form, its result, and the same request as code, always in step. */
export function TryOperation({ operation, typed, onTyped }: TryOperationProps) {
  const [body, setBody] = useState(operation.exampleBody ?? '')
  const [charging, setCharging] = useState(NOT_CHOSEN)
  const [shown, setShown] = useState(false)
  const { chosen } = usePayingKeys(charging)
  const countdown = useCountdown()
  const call = callOf(operation, typed, body)
  const charge = chargeOf(charging, chosen?.id ?? null)
  const trying = useMutation({
    mutationFn: tryCall,
    onSuccess: (answer) => countdown.start(answer.status === 429 ? (answer.retryAfterSeconds ?? 0) : 0),
  })
  const wrong = operation.fields.some((field) => problemOf(field, typed[field.name]) !== null)
  const send = () => {
    setShown(true)
    if (wrong || !call || !charge || trying.isPending || countdown.left > 0) return
    trying.mutate({ ...call, charge })
  }
  return (
    <div className="grid min-w-0 grid-cols-1 gap-6 xl:grid-cols-2">
      <TryForm
        operation={operation}
        typed={typed}
        body={body}
        bodyWrong={call === null}
        charging={charging}
        shown={shown}
        busy={trying.isPending}
        waitSeconds={countdown.left}
        onTyped={onTyped}
        onBody={setBody}
        onCharging={setCharging}
        onSend={send}
      />
      <div className="grid min-w-0 grid-cols-1 content-start gap-6">
        <TryResult answer={trying.data ?? null} failure={failureIn(trying)} />
        {call && (
          <Card title={TEXT.code}>
            <p className="text-muted">{TEXT.codeText}</p>
            <SampleTabs sample={sampleOf(call, charging)} />
          </Card>
        )}
      </div>
    </div>
  )
}

type TryOperationProps = { operation: GatewayOperation; typed: Typed; onTyped: (typed: Typed) => void }

/** The key is never in the code: it stands in a variable. */
function sampleOf(call: NonNullable<ReturnType<typeof callOf>>, { kind }: Charging): Sample {
  return {
    method: call.method,
    url: window.location.origin + call.path,
    headers: call.headers,
    ...(call.body !== undefined && { body: call.body }),
    key: kind === 'nobody' ? null : { variable: 'GATEWAY_API_KEY' },
  }
}
