import type { ReactNode } from 'react'
import type { Explained } from '../../api/requests.ts'
import { operationLabel, REQUEST_TEXT as TEXT } from '../../messages/requests.ts'
import { CopyButton } from '../../ui/code/copy-button.tsx'
import { FullTime } from '../../ui/format/time.tsx'
import { Card } from '../../ui/layout/card.tsx'
import { FactList, type Facts, optionalFact } from '../../ui/layout/fact-list.tsx'
import { CallerLink } from '../../ui/requests/caller-link.tsx'
import { FailureCodeMeaning } from '../../ui/requests/failure-code-meaning.tsx'
import { StatusBadge } from '../../ui/requests/request-row.tsx'
import { RequestCharge } from './request-charge.tsx'
import { RequestTimes } from './request-times.tsx'
import { TryAgain } from './try-again.tsx'

/** One request: its input, outcome, times and charge, and how to repeat it. */
export function ExplainedRequest({ request, keyLabel }: { request: Explained; keyLabel: (id: string) => string }) {
  const { columns } = TEXT
  return (
    <>
      <Card title={TEXT.summary} aside={<CopyButton label={TEXT.copyId} text={request.id} />}>
        <FactList
          facts={[
            [columns.status, <StatusBadge key="status" {...request} />],
            [columns.at, <FullTime key="at" at={request.at} />],
            [columns.operation, operationLabel(request.operation)],
            ...called(request),
            ...optionalFact(columns.model, request.model),
            [columns.key, <CallerLink key="key" id={request.key_id} label={keyLabel(request.key_id)} />],
            ...optionalFact(TEXT.provider, request.provider),
            ...optionalFact(columns.ip, request.ip),
            ...optionalFact(TEXT.clientId, request.client_request_id),
          ]}
        />
      </Card>
      <Why request={request} />
      <RequestTimes request={request} />
      <RequestCharge request={request} caller={keyLabel(request.key_id)} />
      <TryAgain request={request} />
      <p className="small text-muted">{TEXT.noBodies}</p>
    </>
  )
}

function Why({ request: { status, code, failure, key_id: caller } }: { request: Explained }) {
  if (code === null) return null
  return (
    <Card title={status < 400 ? TEXT.ending : TEXT.why}>
      {failure && <p className="font-medium wrap-anywhere">{failure.message}</p>}
      <FailureCodeMeaning code={code} caller={caller} />
      {failure && (
        <FactList
          facts={[
            ...optionalFact(TEXT.route, failure.route),
            ...optionalFact(TEXT.param, failure.param),
            ...optionalFact(TEXT.rule, failure.rule),
          ]}
        />
      )}
    </Card>
  )
}

/** Some operations can be called in two ways, and the log does not say in which. */
function called({ calls = [] }: Explained): Facts {
  if (calls.length === 0) return []
  const lines: ReactNode = calls.map(({ method, path }) => (
    <span key={method + path} className="code block wrap-anywhere">
      {method} {path}
    </span>
  ))
  return [[TEXT.called, lines]]
}
