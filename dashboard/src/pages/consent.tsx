import { appRequest } from '../api/arrived.ts'
import { ConsentForm } from '../features/apps/consent-form.tsx'
import { DoorPage } from '../ui/door-page.tsx'
import { APP_WORDS as WORDS } from '../words/apps.ts'

/** `/consent`: an app asks for access. Also where a browser ends up whose app asked wrongly. */
export function Consent() {
  const request = appRequest()
  if (request !== null)
    return (
      <DoorPage title={WORDS.consentTitle}>
        <ConsentForm request={request} />
      </DoorPage>
    )
  const said = new URLSearchParams(window.location.search).get('error_description')
  return (
    <DoorPage title={WORDS.badRequest}>
      <p role="alert">{WORDS.badRequestText}</p>
      {said && (
        <p className="text-muted">
          {WORDS.reason} <span className="code wrap-anywhere">{said.slice(0, 200)}</span>
        </p>
      )}
    </DoorPage>
  )
}
