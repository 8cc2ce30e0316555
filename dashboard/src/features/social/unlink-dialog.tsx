import { useMutation, useQueryClient } from '@tanstack/react-query'
import { failureFrom } from '../../api/client/failure.ts'
import { SOCIAL, type SocialAccount, unlink } from '../../api/social.ts'
import { SOCIAL_TEXT as TEXT } from '../../messages/social.ts'
import { ConfirmAction } from '../../ui/dialogs/confirm-action.tsx'
import { toast } from '../../ui/feedback/toast.ts'

/** Confirms unlinking an account. */
export function UnlinkDialog({ account, onClose }: { account: SocialAccount; onClose: () => void }) {
  const queries = useQueryClient()
  const username = account.account?.username ?? ''
  const unlinking = useMutation({
    mutationFn: () => unlink(account.key.id),
    onSuccess: () => {
      void toast(TEXT.unlinked(username))
      onClose()
    },
    onSettled: () => queries.invalidateQueries({ queryKey: SOCIAL }),
  })
  return (
    <ConfirmAction
      title={TEXT.unlinkTitle(username)}
      text={TEXT.unlinkText}
      cancelLabel={TEXT.keep}
      confirmLabel={TEXT.unlink}
      action={unlinking}
      failure={failureFrom(unlinking)}
      onClose={onClose}
    />
  )
}
