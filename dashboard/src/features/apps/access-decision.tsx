import { useMutation, useQuery } from '@tanstack/react-query'
import { Check } from 'lucide-react'
import { type ReactNode, useState } from 'react'
import { accountQuery } from '../../api/account/account.ts'
import { type KnownApp, limitApp } from '../../api/account/apps.ts'
import { failureFrom } from '../../api/client/failure.ts'
import { APP_TEXT as TEXT } from '../../messages/apps.ts'
import { Button } from '../../ui/button.tsx'
import { FormFailure } from '../../ui/feedback/failure.tsx'
import { balanceUsd } from '../../ui/format/money.ts'
import { LimitField, parseLimit } from './limit-field.tsx'

/** The proposed limit of an app that has none yet. */
const PROPOSED_USD = 5

/** The requested access, the spending limit, and the buttons to allow or deny. The limit comes first. */
export function AccessDecision<T>({ app, scopes, answer, onDone, children }: AccessDecisionProps<T>) {
  const account = useQuery(accountQuery).data
  const { client_id: clientId, spending_limit: limit } = app
  // A connection exists from the first decision on; "no limit" is one, too.
  const isDecided = app.connection_id !== null
  const [typed, setTyped] = useState(String(limit ?? (isDecided ? '' : PROPOSED_USD)))
  const wanted = parseLimit(typed)
  const answering = useMutation({
    mutationFn: async (accept: boolean) => {
      if (accept && wanted !== 'wrong' && (wanted !== limit || !isDecided)) await limitApp(clientId, wanted)
      return answer(accept)
    },
    onSuccess: onDone,
  })
  return (
    <>
      <AccessList scopes={scopes} />
      {account && <p className="wrap-anywhere">{TEXT.paidBy(account.email, balanceUsd(account.balance_micros_usd))}</p>}
      {children}
      <LimitField value={typed} wrong={wanted === 'wrong'} onChange={setTyped} />
      <FormFailure failure={failureFrom(answering)} />
      <div className="grid grid-cols-2 gap-2">
        <Button disabled={answering.isPending} onClick={() => answering.mutate(false)}>
          {TEXT.deny}
        </Button>
        <Button tone="primary" busy={answering.isPending || wanted === 'wrong'} onClick={() => answering.mutate(true)}>
          {TEXT.allow}
        </Button>
      </div>
    </>
  )
}

type AccessDecisionProps<T> = {
  app: KnownApp
  scopes: readonly string[]
  answer: (accept: boolean) => Promise<T>
  onDone: (answered: T) => void
  children?: ReactNode
}

/** The app's permissions. Plain text only: an app's own words become no link and no image. */
function AccessList({ scopes }: { scopes: readonly string[] }) {
  return (
    <div className="grid gap-2">
      <p className="font-medium">{TEXT.may}</p>
      <ul className="grid gap-2">
        {scopes.map((scope) => (
          <li key={scope} className="flex items-start gap-2">
            <Check size={16} aria-hidden className="mt-0.5 shrink-0 text-muted" />
            <span>{TEXT.scopes[scope] ?? scope}</span>
          </li>
        ))}
      </ul>
    </div>
  )
}
