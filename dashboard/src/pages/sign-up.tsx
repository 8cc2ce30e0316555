import { useQueryClient } from '@tanstack/react-query'
import { Link, useNavigate } from '@tanstack/react-router'
import { isSignInForApp, signUp } from '../api/account/account.ts'
import { CredentialsForm } from '../features/sign-in/credentials-form.tsx'
import { SHELL_TEXT } from '../messages/shell.ts'
import { SIGN_IN_TEXT } from '../messages/sign-in.ts'
import { AuthLayout } from '../ui/layout/auth-layout.tsx'

/** `/sign-up`: creates an account from an email address and a password. */
export function SignUp() {
  const queries = useQueryClient()
  const navigate = useNavigate()
  const enter = async () => {
    if (isSignInForApp()) return
    queries.clear()
    await navigate({ to: '/welcome' })
  }
  return (
    <AuthLayout title={SHELL_TEXT.pagesOf.signUp}>
      <CredentialsForm purpose="sign-up" submit={signUp} onDone={() => void enter()}>
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
