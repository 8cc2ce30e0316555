import { useMutation, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { accountQuery, signOut } from '../api/account/account.ts'
import { acceptInvitation, readInvitation } from '../api/account/workspaces.ts'
import { failureFrom } from '../api/client/failure.ts'
import { takeToken } from '../features/settings/link-token.ts'
import { MEMBER_TEXT } from '../messages/members.ts'
import { keepInvitation, keptInvitation } from '../session-state.ts'
import { Button, buttonClass } from '../ui/button.tsx'
import { FormFailure } from '../ui/feedback/failure.tsx'
import { Loading } from '../ui/feedback/states.tsx'
import { AuthLayout } from '../ui/layout/auth-layout.tsx'

const TEXT = MEMBER_TEXT.accept

/** `/invite#token=`: what the link invites to. It is kept for this tab while its reader signs in. */
export function Invite() {
  const [token] = useState(() => {
    const given = takeToken()
    if (given !== null) keepInvitation(given)
    return given ?? keptInvitation()
  })
  return (
    <AuthLayout title={TEXT.title}>
      {token === null ? <p role="alert">{TEXT.badLink}</p> : <Invitation token={token} />}
    </AuthLayout>
  )
}

function Invitation({ token }: { token: string }) {
  const invitation = useQuery({ queryKey: ['invitation', token], queryFn: () => readInvitation(token) })
  const account = useQuery(accountQuery)
  const joining = useMutation({
    mutationFn: () => acceptInvitation(token),
    onSuccess: () => {
      keepInvitation(null)
      // A full page load: everything shows another workspace from now on.
      window.location.assign('/')
    },
  })
  if (invitation.isPending || account.isPending) return <Loading rows={3} />
  const { data } = invitation
  if (!data) return <FormFailure failure={failureFrom(invitation)} />
  const email = account.data?.email ?? null
  return (
    <div className="grid gap-4">
      <p className="wrap-anywhere">{TEXT.text(data.workspace, MEMBER_TEXT.roles[data.role], data.invited_by)}</p>
      <p className="text-muted wrap-anywhere">
        {TEXT.for(data.email)} {email !== null && email !== data.email && `${TEXT.signedInAs(email)} ${TEXT.other}`}
      </p>
      <FormFailure failure={failureFrom(joining)} />
      {email === null ? (
        <SignInLinks />
      ) : email === data.email ? (
        <Button tone="primary" busy={joining.isPending} onClick={() => joining.mutate()}>
          {TEXT.join}
        </Button>
      ) : (
        <Button onClick={() => void signOut().then(() => window.location.reload())}>{TEXT.signOut}</Button>
      )}
    </div>
  )
}

function SignInLinks() {
  return (
    <div className="grid grid-cols-2 gap-2">
      <a href="/sign-in?to=%2Finvite" className={buttonClass('primary')}>
        {TEXT.signIn}
      </a>
      <a href="/sign-up" className={buttonClass()}>
        {TEXT.signUp}
      </a>
    </div>
  )
}
