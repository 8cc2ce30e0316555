import { useMutation, useQueryClient } from '@tanstack/react-query'
import { failureIn } from '../../api/failure.ts'
import { type SocialAccount, socialQuery, unlink } from '../../api/social.ts'
import { SOCIAL_TEXT as TEXT } from '../../messages/social.ts'
import { ConfirmDialog } from '../../ui/dialogs/dialog.tsx'
import { FormFailure } from '../../ui/states.tsx'
import { toast } from '../../ui/toast.ts'

/** Asks once more before a key acts as nobody. */
export function UnlinkAccount({ account, onClose }: { account: SocialAccount; onClose: () => void }) {
  const queries = useQueryClient()
  const username = account.account?.username ?? ''
  const unlinking = useMutation({
    mutationFn: () => unlink(account.key.id),
    onSuccess: () => {
      void toast(TEXT.unlinked(username))
      onClose()
    },
    onSettled: () => queries.invalidateQueries({ queryKey: socialQuery.queryKey }),
  })
  return (
    <ConfirmDialog
      title={TEXT.unlinkTitle(username)}
      text={TEXT.unlinkText}
      keep={TEXT.keep}
      act={TEXT.unlink}
      busy={unlinking.isPending}
      onKeep={onClose}
      onAct={() => unlinking.mutate()}
    >
      <FormFailure failure={failureIn(unlinking)} />
    </ConfirmDialog>
  )
}
