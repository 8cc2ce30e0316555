import { KIT_WORDS } from '../words/kit.ts'
import { CopyButton } from './copy-button.tsx'

/** The id of the account, as it is named towards the operator, with its copy button. */
export function WorkspaceId({ id }: { id: string }) {
  return (
    <div className="grid gap-1">
      <span className="font-medium">{KIT_WORDS.workspace}</span>
      <div className="flex flex-wrap items-center gap-2">
        <code className="code wrap-anywhere">{id}</code>
        <CopyButton label={KIT_WORDS.copyWorkspace} text={id} quiet />
      </div>
    </div>
  )
}
