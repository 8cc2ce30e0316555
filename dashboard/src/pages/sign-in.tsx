import { useQueryClient } from '@tanstack/react-query'
import { Link, useLocation, useNavigate, useSearch } from '@tanstack/react-router'
import { isSignInForApp } from '../api/account/account.ts'
import { SignInForm } from '../features/sign-in/sign-in-form.tsx'
import { SHELL_TEXT } from '../messages/shell.ts'
import { SIGN_IN_TEXT } from '../messages/sign-in.ts'
import { AuthLayout } from '../ui/layout/auth-layout.tsx'

/** `/sign-in?to=`: returns to the page that the visitor came from, which must be a path of this dashboard. */
export function SignIn() {
  const queries = useQueryClient()
  const navigate = useNavigate()
  const { to } = useSearch({ from: '/sign-in' })
  const isAccountDeleted = useLocation({ select: ({ state }) => state.isAccountDeleted === true })
  const enter = async () => {
    if (isSignInForApp()) return
    queries.clear()
    await navigate({ href: to ?? '/' })
  }
  return (
    <AuthLayout title={SHELL_TEXT.pagesOf.signIn}>
      {isAccountDeleted && (
        <p role="status" className="rounded-md bg-ok-soft px-3 py-2 text-ok">
          {SIGN_IN_TEXT.accountDeleted}
        </p>
      )}
      <SignInForm to={to ?? '/'} onDone={() => void enter()}>
        <Link to="/forgot-password" className="justify-self-start text-accent underline">
          {SIGN_IN_TEXT.forgot}
        </Link>
        <p className="text-muted">
          {SIGN_IN_TEXT.noAccount}{' '}
          <Link to="/sign-up" className="text-accent underline">
            {SIGN_IN_TEXT.signUp}
          </Link>
        </p>
      </SignInForm>
    </AuthLayout>
  )
}
