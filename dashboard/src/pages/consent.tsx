import { pendingAppRequest } from '../api/account/initial-query.ts'
import { ConsentForm } from '../features/apps/consent-form.tsx'
import { APP_TEXT as TEXT } from '../messages/apps.ts'
import { AuthLayout } from '../ui/layout/auth-layout.tsx'

/** `/consent`: an app requests access. Also shown for invalid app requests. */
export function Consent() {
  const request = pendingAppRequest()
  if (request !== null)
    return (
      <AuthLayout title={TEXT.consentTitle}>
        <ConsentForm request={request} />
      </AuthLayout>
    )
  const description = new URLSearchParams(window.location.search).get('error_description')
  return (
    <AuthLayout title={TEXT.badRequest}>
      <p role="alert">{TEXT.badRequestText}</p>
      {description && (
        <p className="text-muted">
          {TEXT.reason} <span className="code wrap-anywhere">{description.slice(0, 200)}</span>
        </p>
      )}
    </AuthLayout>
  )
}
