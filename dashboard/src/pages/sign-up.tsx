import { useQueryClient } from '@tanstack/react-query'
import { Link, useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { isSignInForApp, signUp } from '../api/account/account.ts'
import { CredentialsForm } from '../features/sign-in/credentials-form.tsx'
import { ProviderButtons } from '../features/sign-in/provider-buttons.tsx'
import { SHELL_TEXT } from '../messages/shell.ts'
import { SIGN_IN_TEXT } from '../messages/sign-in.ts'
import { keptInvitation } from '../session-state.ts'
import { AuthLayout } from '../ui/layout/auth-layout.tsx'

/** `/sign-up`: creates an account from an email address and a password, which may have to be confirmed by mail first. */
export function SignUp() {
  const queries = useQueryClient()
  const navigate = useNavigate()
  const [mailedTo, setMailedTo] = useState<string | null>(null)
  const submit = async (email: string, password: string) => {
    if (!(await signUp(email, password))) setMailedTo(email)
    else await enter()
  }
  const enter = async () => {
    if (isSignInForApp()) return
    queries.clear()
    await navigate({ to: keptInvitation() === null ? '/welcome' : '/invite' })
  }
  if (mailedTo !== null)
    return (
      <AuthLayout title={SIGN_IN_TEXT.checkMail}>
        <p role="status">{SIGN_IN_TEXT.linkSentTo(mailedTo)}</p>
        <Link to="/sign-in" className="text-accent underline">
          {SIGN_IN_TEXT.signIn}
        </Link>
      </AuthLayout>
    )
  return (
    <AuthLayout title={SHELL_TEXT.pagesOf.signUp}>
      <CredentialsForm purpose="sign-up" submit={submit}>
        <ProviderButtons to="/" />
        <p className="text-muted">{SIGN_IN_TEXT.credit}</p>
        <p className="text-muted">
          {SIGN_IN_TEXT.haveAccount}{' '}
          <Link to="/sign-in" className="text-accent underline">
            {SIGN_IN_TEXT.signIn}
          </Link>
        </p>
      </CredentialsForm>
    </AuthLayout>
  )
}
