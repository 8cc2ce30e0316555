import { useQueryClient } from '@tanstack/react-query'
import { Link, useNavigate } from '@tanstack/react-router'
import { leadsToApp, signUp } from '../api/account.ts'
import { CredentialsForm } from '../features/sign-in/credentials-form.tsx'
import { DoorPage } from '../ui/door-page.tsx'
import { SHELL_WORDS } from '../words/shell.ts'
import { SIGN_IN_WORDS } from '../words/sign-in.ts'

/** `/sign-up`: two fields, and the account is there. */
export function SignUp() {
  const queries = useQueryClient()
  const navigate = useNavigate()
  const enter = async () => {
    if (leadsToApp()) return
    queries.clear()
    await navigate({ to: '/welcome' })
  }
  return (
    <DoorPage title={SHELL_WORDS.pagesOf.signUp}>
      <CredentialsForm purpose="sign-up" submit={signUp} onDone={() => void enter()}>
        <p className="text-muted">{SIGN_IN_WORDS.credit}</p>
        <p className="text-muted">
          {SIGN_IN_WORDS.haveAccount}{' '}
          <Link to="/sign-in" className="text-accent underline">
            {SIGN_IN_WORDS.signIn}
          </Link>
        </p>
      </CredentialsForm>
    </DoorPage>
  )
}
