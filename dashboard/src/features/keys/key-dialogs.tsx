import { useState } from 'react'
import { DeleteKey, StopOldKey } from './end-key.tsx'
import type { KeyDialog } from './key-actions.ts'
import { KeyForm, type MadeKey } from './key-form.tsx'
import { KeySaved } from './key-saved.tsx'
import { RotateKey } from './rotate-key.tsx'

/** The dialog that is open, if one is; a key that was just made is shown before it closes. */
export function KeyDialogs({ dialog, onClose }: { dialog: KeyDialog; onClose: () => void }) {
  const [made, setMade] = useState<MadeKey | null>(null)
  if (made) return <KeySaved made={made} onClose={onClose} />
  switch (dialog.kind) {
    case 'create':
      return <KeyForm apiKey={null} onClose={onClose} onMade={setMade} />
    case 'edit':
      return <KeyForm apiKey={dialog.key} focus={dialog.focus} onClose={onClose} onMade={setMade} />
    case 'rotate':
      return <RotateKey apiKey={dialog.key} onClose={onClose} onMade={setMade} />
    case 'delete':
      return <DeleteKey apiKey={dialog.key} onClose={onClose} />
    case 'stop':
      return <StopOldKey apiKey={dialog.key} onClose={onClose} />
  }
}
