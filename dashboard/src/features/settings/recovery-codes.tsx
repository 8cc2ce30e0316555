import { SECOND_FACTOR_TEXT as TEXT } from '../../messages/second-factor.ts'
import { Button } from '../../ui/button.tsx'
import { CodeBlock } from '../../ui/code/code-block.tsx'
import { Dialog, DialogButtons } from '../../ui/dialogs/dialog.tsx'

/** New recovery codes. The dialog closes only by its button, because they are shown once. */
export function RecoveryCodes({ codes, onSaved }: { codes: readonly string[]; onSaved: () => void }) {
  return (
    <Dialog title={TEXT.codesTitle} firm onClose={onSaved}>
      <p className="text-muted">{TEXT.codesText}</p>
      <CodeBlock label={TEXT.codesTitle} code={codes.join('\n')} copyLabel={TEXT.copyCodes} />
      <DialogButtons>
        <Button tone="primary" onClick={onSaved}>
          {TEXT.saved}
        </Button>
      </DialogButtons>
    </Dialog>
  )
}
