import { useRef } from 'react'
import { FIRST_RUN_TEXT as TEXT } from '../../messages/first-run.ts'
import { Button } from '../../ui/button.tsx'
import { copyToClipboard } from '../../ui/code/copy-button.tsx'
import { Dialog, DialogButtons } from '../../ui/dialogs/dialog.tsx'

/** Asks for confirmation before leaving without having copied the key. */
export function LeaveWithoutKey({
  secret,
  onStay,
  onFieldBlur,
}: {
  secret: string
  onStay: () => void
  onFieldBlur: () => void
}) {
  const shown = useRef<HTMLElement>(null)
  // If the browser does not allow copying, the key is selected instead and the page stays open.
  const copyAndLeave = async () => {
    if ((await copyToClipboard(secret, shown.current)) === 'copied') onFieldBlur()
  }
  return (
    <Dialog title={TEXT.leaveTitle} onClose={onStay}>
      <p className="text-muted">{TEXT.leaveText}</p>
      <code ref={shown} className="code wrap-anywhere">
        {secret}
      </code>
      <DialogButtons>
        <Button onClick={onFieldBlur}>{TEXT.leave}</Button>
        <Button tone="primary" onClick={() => void copyAndLeave()}>
          {TEXT.copyAndLeave}
        </Button>
      </DialogButtons>
    </Dialog>
  )
}
