import { useQuery, useQueryClient } from '@tanstack/react-query'
import { accountQuery } from '../api/account/account.ts'
import { SignInForm } from '../features/sign-in/sign-in-form.tsx'
import { SIGN_IN_TEXT } from '../messages/sign-in.ts'
import { Dialog } from '../ui/dialogs/dialog.tsx'

/**
 * Signs in again without leaving the page. With `onGiveUp` the session is still valid and the action can be dropped. If another
 * user signs in, the page is reloaded, so that nothing of the first one stays.
 */
export function SignInAgain({ onGiveUp }: { onGiveUp?: () => void }) {
  const queries = useQueryClient()
  const before = useQuery({ ...accountQuery, enabled: false }).data
  const resume = async () => {
    const after = await queries.fetchQuery({ ...accountQuery, staleTime: 0 })
    if (before && before.id !== after.id) window.location.assign('/')
    else await queries.invalidateQueries()
  }
  return (
    <Dialog title={onGiveUp ? SIGN_IN_TEXT.recent : SIGN_IN_TEXT.ended} firm={!onGiveUp} onClose={() => onGiveUp?.()}>
      <p className="text-muted">{onGiveUp ? SIGN_IN_TEXT.recentText : SIGN_IN_TEXT.endedText}</p>
      <SignInForm
        to={window.location.pathname + window.location.search}
        onDone={() => void resume()}
        {...(before && { email: before.email })}
      />
    </Dialog>
  )
}
