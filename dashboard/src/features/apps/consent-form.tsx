import { useQuery } from '@tanstack/react-query'
import { appQuery, submitConsent } from '../../api/account/apps.ts'
import { failureFrom } from '../../api/client/failure.ts'
import { APP_TEXT as TEXT } from '../../messages/apps.ts'
import { FormFailure } from '../../ui/feedback/failure.tsx'
import { Loading } from '../../ui/feedback/states.tsx'
import { AccessDecision } from './access-decision.tsx'

/** An app's request, and the owner's decision. */
export function ConsentForm({ request }: { request: string }) {
  const query = new URLSearchParams(request)
  const clientId = query.get('client_id') ?? ''
  const scopes = (query.get('scope') ?? '').split(' ').filter(Boolean)
  const app = useQuery(appQuery(clientId))
  if (app.isPending) return <Loading rows={4} />
  const failure = failureFrom(app)
  if (failure?.status === 404) return <p role="alert">{TEXT.expired}</p>
  if (!app.data) return <FormFailure failure={failure} />
  const known = app.data.app
  return (
    <div className="grid gap-5">
      <h2 className="wrap-anywhere">{TEXT.asksTitle(known.name)}</h2>
      {known.first_party ? (
        <p className="text-muted">{TEXT.firstParty}</p>
      ) : (
        <p className="rounded-md bg-warn-soft px-3 py-2 text-warn">{TEXT.unverified}</p>
      )}
      {known.document_host !== null && (
        <p className="text-muted">
          {TEXT.documentHost} <span className="code wrap-anywhere text-text">{known.document_host}</span>
        </p>
      )}
      <AccessDecision
        app={known}
        scopes={scopes}
        answer={(accept) => submitConsent(request, accept)}
        onDone={(address) => window.location.assign(address)}
      >
        <p className="text-muted">
          {TEXT.backTo} <span className="code wrap-anywhere text-text">{redirectHost(query)}</span>
        </p>
      </AccessDecision>
    </div>
  )
}

/** Only shown, never followed: the browser goes where the server sends it after its checks. */
function redirectHost(query: URLSearchParams): string {
  const url = URL.parse(query.get('redirect_uri') ?? '')
  return url ? `${url.protocol}//${url.host}` : '-'
}
