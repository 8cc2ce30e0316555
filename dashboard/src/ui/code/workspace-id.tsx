import { UI_TEXT } from '../../messages/ui.ts'
import { CopyButton } from './copy-button.tsx'

/** The id of the account, to give to the operator, with a copy button. */
export function WorkspaceId({ id }: { id: string }) {
  return (
    <div className="grid gap-1">
      <span className="font-medium">{UI_TEXT.workspace}</span>
      <div className="flex flex-wrap items-center gap-2">
        <code className="code wrap-anywhere">{id}</code>
        <CopyButton label={UI_TEXT.copyWorkspace} text={id} quiet />
      </div>
    </div>
  )
}
