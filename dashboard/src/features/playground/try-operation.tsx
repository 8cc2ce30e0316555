import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { failureFrom } from '../../api/client/failure.ts'
import { callOf, type FormFiles, type FormValues, type GatewayOperation } from '../../api/playground/operations.ts'
import { tryCall } from '../../api/playground/try-call.ts'
import { PLAYGROUND_TEXT as TEXT } from '../../messages/playground.ts'
import type { Sample } from '../../sample.ts'
import { useCountdown } from '../../ui/browser/use-countdown.ts'
import { lazyPart } from '../../ui/feedback/lazy-part.tsx'
import { Loading } from '../../ui/feedback/states.tsx'
import { Card } from '../../ui/layout/card.tsx'
import { validateField } from './form-values.ts'
import { DEFAULT_PAYER, type PayerChoice, toPayer, usePayerKeys, useSendWhenReady } from './payer-field.tsx'
import { TryForm } from './try-form.tsx'
import { preloadResult, TryResult } from './try-result.tsx'

// Below the first figures, or on a tab of its own.
const SampleTabs = lazyPart(() => import('../../ui/code/sample-tabs.tsx').then(({ SampleTabs }) => SampleTabs), {
  fallback: () => <Loading rows={6} />,
})

/** One operation: its form, its result, and the request as code that follows every change. */
export function TryOperation({ operation, values, onValues }: TryOperationProps) {
  const [files, setFiles] = useState<FormFiles>({})
  const [body, setBody] = useState(operation.exampleBody ?? '')
  const [payerChoice, setCharging] = useState(DEFAULT_PAYER)
  const [shown, setShown] = useState(false)
  const { chosen, ready } = usePayerKeys(payerChoice)
  const countdown = useCountdown()
  const call = callOf(operation, values, body, files)
  const payer = toPayer(payerChoice, chosen)
  const trying = useMutation({
    mutationFn: tryCall,
    onSuccess: (response) => countdown.start(response.status === 429 ? (response.retryAfterSeconds ?? 0) : 0),
  })
  const wrong = operation.fields.some((field) => validateField(field, values[field.name], files[field.name]) !== null)
  const send = () => {
    setShown(true)
    if (wrong || !call || !payer || trying.isPending || countdown.left > 0) return
    void preloadResult()
    trying.mutate({ ...call, payer })
  }
  const sendWhenReady = useSendWhenReady(ready, send)
  return (
    <div className="grid min-w-0 grid-cols-1 gap-6 xl:grid-cols-2">
      <TryForm
        operation={operation}
        values={values}
        files={files}
        body={body}
        bodyWrong={call === null}
        payerChoice={payerChoice}
        shown={shown}
        ready={ready}
        busy={trying.isPending}
        waitSeconds={countdown.left}
        onValues={onValues}
        onFiles={setFiles}
        onBody={setBody}
        onPayerChoice={setCharging}
        onSend={sendWhenReady}
      />
      <div className="grid min-w-0 grid-cols-1 content-start gap-6">
        <TryResult response={trying.data ?? null} failure={failureFrom(trying)} />
        {call && (
          <Card title={TEXT.code}>
            <p className="text-muted">{TEXT.codeText}</p>
            <SampleTabs sample={sampleOf(call, payerChoice)} />
          </Card>
        )}
      </div>
    </div>
  )
}

type TryOperationProps = { operation: GatewayOperation; values: FormValues; onValues: (values: FormValues) => void }

/** The code never contains the key; it reads it from an environment variable. */
function sampleOf(call: NonNullable<ReturnType<typeof callOf>>, { kind }: PayerChoice): Sample {
  return {
    method: call.method,
    url: window.location.origin + call.path,
    headers: call.headers,
    ...(call.body !== undefined && { body: call.body }),
    ...(call.form && { form: call.form }),
    key: kind === 'nobody' ? null : { variable: 'GATEWAY_API_KEY' },
  }
}
