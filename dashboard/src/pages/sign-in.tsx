import { useQueryClient } from '@tanstack/react-query'
import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { leadsToApp, signIn } from '../api/account.ts'
import { CredentialsForm } from '../features/sign-in/credentials-form.tsx'
import { DoorPage } from '../ui/door-page.tsx'
import { SHELL_WORDS } from '../words/shell.ts'
import { SIGN_IN_WORDS } from '../words/sign-in.ts'

/** `/sign-in?to=`: back to where the visitor came from, which is a path of this dashboard or nothing. */
export function SignIn() {
  const queries = useQueryClient()
  const navigate = useNavigate()
  const { to } = useSearch({ from: '/sign-in' })
  const enter = async () => {
    if (leadsToApp()) return
    queries.clear()
    await navigate({ href: to ?? '/' })
  }
  return (
    <DoorPage title={SHELL_WORDS.pagesOf.signIn}>
      <CredentialsForm purpose="sign-in" submit={signIn} onDone={() => void enter()}>
        <Link to="/forgot-password" className="justify-self-start text-accent underline">
          {SIGN_IN_WORDS.forgot}
        </Link>
        <p className="text-muted">
          {SIGN_IN_WORDS.noAccount}{' '}
          <Link to="/sign-up" className="text-accent underline">
            {SIGN_IN_WORDS.signUp}
          </Link>
        </p>
      </CredentialsForm>
    </DoorPage>
  )
}
