import { useMutation, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { answerApp, appQuery, limitApp } from '../../api/apps.ts'
import { asFailure } from '../../api/failure.ts'
import { Button } from '../../ui/button.tsx'
import { FormFailure, Loading } from '../../ui/states.tsx'
import { APP_WORDS as WORDS } from '../../words/apps.ts'
import { AccessList } from './access-list.tsx'
import { LimitField, limitTyped } from './limit-field.tsx'

/** An app's request, and the owner's answer. The limit stands before the access does. */
export function ConsentForm({ request }: { request: string }) {
  const query = new URLSearchParams(request)
  const clientId = query.get('client_id') ?? ''
  const scopes = (query.get('scope') ?? '').split(' ').filter(Boolean)
  const app = useQuery(appQuery(clientId))
  const [typed, setTyped] = useState<string | null>(null)
  const known = app.data?.app
  const limit = typed ?? String(known?.spending_limit ?? '')
  const answering = useMutation({
    mutationFn: async (accept: boolean) => {
      const wanted = limitTyped(limit)
      if (accept && wanted !== 'wrong' && wanted !== (known?.spending_limit ?? null)) await limitApp(clientId, wanted)
      return answerApp(request, accept)
    },
    onSuccess: (address) => window.location.assign(address),
  })
  if (app.isPending) return <Loading rows={4} />
  if (!known) return <p role="alert">{WORDS.expired}</p>
  const wrong = limitTyped(limit) === 'wrong'
  return (
    <div className="grid gap-5">
      <h2 className="wrap-anywhere">{WORDS.asksTitle(known.name)}</h2>
      {known.first_party ? (
        <p className="text-muted">{WORDS.firstParty}</p>
      ) : (
        <p className="rounded-md bg-warn-soft px-3 py-2 text-warn">{WORDS.unverified}</p>
      )}
      <AccessList scopes={scopes} />
      <p className="text-muted">
        {WORDS.backTo} <span className="code wrap-anywhere text-text">{redirectHost(query)}</span>
      </p>
      <LimitField value={limit} wrong={wrong} onChange={setTyped} />
      <FormFailure failure={answering.error ? asFailure(answering.error) : null} />
      <div className="grid grid-cols-2 gap-2">
        <Button disabled={answering.isPending} onClick={() => answering.mutate(false)}>
          {WORDS.deny}
        </Button>
        <Button tone="primary" busy={answering.isPending || wrong} onClick={() => answering.mutate(true)}>
          {WORDS.allow}
        </Button>
      </div>
    </div>
  )
}

/** Shown, never followed: the browser goes only where the server says after it checked. */
function redirectHost(query: URLSearchParams): string {
  const url = URL.parse(query.get('redirect_uri') ?? '')
  return url ? `${url.protocol}//${url.host}` : '-'
}
