import { useRef } from 'react'
import { Button } from '../../ui/button.tsx'
import { copyText } from '../../ui/copy-button.tsx'
import { Dialog, DialogButtons } from '../../ui/dialog.tsx'
import { FIRST_RUN_WORDS as WORDS } from '../../words/first-run.ts'

/** Asks who leaves before the key was copied. */
export function LeaveWithoutKey({
  secret,
  onStay,
  onLeave,
}: {
  secret: string
  onStay: () => void
  onLeave: () => void
}) {
  const shown = useRef<HTMLElement>(null)
  // Where the browser forbids copying, the key is selected instead, and leaving waits.
  const copyAndLeave = async () => {
    if ((await copyText(secret, shown.current)) === 'copied') onLeave()
  }
  return (
    <Dialog title={WORDS.leaveTitle} onClose={onStay}>
      <p className="text-muted">{WORDS.leaveText}</p>
      <code ref={shown} className="code wrap-anywhere">
        {secret}
      </code>
      <DialogButtons>
        <Button onClick={onLeave}>{WORDS.leave}</Button>
        <Button tone="primary" onClick={() => void copyAndLeave()}>
          {WORDS.copyAndLeave}
        </Button>
      </DialogButtons>
    </Dialog>
  )
}
