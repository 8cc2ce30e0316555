import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { confirmEmail } from '../api/account/settings.ts'
import { failureFrom } from '../api/client/failure.ts'
import { takeToken } from '../features/settings/link-token.ts'
import { SETTINGS_TEXT as TEXT } from '../messages/settings.ts'
import { Button, buttonClass } from '../ui/button.tsx'
import { FormFailure } from '../ui/feedback/failure.tsx'
import { AuthLayout } from '../ui/layout/auth-layout.tsx'

/** `/confirm-email#token=`: confirming takes a click, because mail scanners open links too. */
export function ConfirmEmail() {
  const [token] = useState(takeToken)
  const confirming = useMutation({ mutationFn: () => confirmEmail(token ?? '') })
  const failure = failureFrom(confirming)
  const bad = token === null ? TEXT.badLink : failure?.code === 'invalid_state' ? failure.message : null
  return (
    <AuthLayout title={TEXT.confirmEmail}>
      {confirming.data ? (
        <p role="status" className="rounded-md bg-ok-soft px-3 py-2 text-ok">
          {TEXT.confirmed(confirming.data.email)}
        </p>
      ) : bad ? (
        <p role="alert" className="rounded-md bg-bad-soft px-3 py-2 text-bad">
          {bad}
        </p>
      ) : (
        <>
          <p className="text-muted">{TEXT.confirmText}</p>
          <FormFailure failure={failure} />
          <Button tone="primary" busy={confirming.isPending} onClick={() => confirming.mutate()}>
            {TEXT.confirm}
          </Button>
        </>
      )}
      {(confirming.data || bad) && (
        // A full page load, because this browser may be signed in as someone else.
        <a href="/settings" className={buttonClass()}>
          {TEXT.toSettings}
        </a>
      )}
    </AuthLayout>
  )
}
