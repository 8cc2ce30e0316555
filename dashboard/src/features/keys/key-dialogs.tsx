import { useState } from 'react'
import { type CreatedKey, KeyForm } from './form/key-form.tsx'
import { GiveKeyDialog } from './give-key-dialog.tsx'
import type { KeyDialog } from './key-actions.ts'
import { NewKeyDialog } from './new-key-dialog.tsx'
import { RotateKeyDialog } from './rotate-key-dialog.tsx'
import { RevokeKeyDialog, StopOldKeyDialog } from './stop-key-dialogs.tsx'

/** The open dialog, if any. The secret of a new key is shown before it closes. */
export function KeyDialogs({ dialog, onClose }: { dialog: KeyDialog; onClose: () => void }) {
  const [made, setMade] = useState<CreatedKey | null>(null)
  if (made) return <NewKeyDialog made={made} onClose={onClose} />
  switch (dialog.kind) {
    case 'create':
      return <KeyForm apiKey={null} onClose={onClose} onCreated={setMade} />
    case 'edit':
      return <KeyForm apiKey={dialog.key} focus={dialog.focus} onClose={onClose} onCreated={setMade} />
    case 'rotate':
      return <RotateKeyDialog apiKey={dialog.key} onClose={onClose} onCreated={setMade} />
    case 'revoke':
      return <RevokeKeyDialog apiKey={dialog.key} onClose={onClose} />
    case 'give':
      return <GiveKeyDialog apiKey={dialog.key} onClose={onClose} />
    case 'stop':
      return <StopOldKeyDialog apiKey={dialog.key} onClose={onClose} />
  }
}
