import { FIRST_RUN_TEXT as TEXT } from '../../messages/first-run.ts'
import { CopyButton } from './copy-button.tsx'
import { SecretField } from './secret-field.tsx'

/** Shows a new key once. The key exists only in the memory of the component that holds `secret`. */
export function KeyReveal({ secret, onCopied }: { secret: string; onCopied?: () => void }) {
  return (
    <div className="grid gap-2">
      <SecretField label={TEXT.key} hint={TEXT.onlyTime} secret={secret} />
      <div className="flex flex-wrap items-center gap-2">
        <CopyButton label={TEXT.copyKey} text={secret} tone="primary" {...(onCopied && { onCopied })} />
      </div>
    </div>
  )
}
