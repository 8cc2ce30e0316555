import { useNavigate, useSearch } from '@tanstack/react-router'
import { Download, Plus } from 'lucide-react'
import { useState } from 'react'
import { useMay } from '../api/account/account.ts'
import { keysCsvUrl } from '../api/keys.ts'
import type { KeyDialog } from '../features/keys/key-actions.ts'
import { KeysList } from '../features/keys/keys-list.tsx'
import { useKeyActions } from '../features/keys/use-key-actions.ts'
import { SavedViews } from '../features/views/saved-views.tsx'
import { KEY_TEXT } from '../messages/keys.ts'
import { SHELL_TEXT } from '../messages/shell.ts'
import { Button, buttonClass } from '../ui/button.tsx'
import { lazyPart } from '../ui/feedback/lazy-part.tsx'
import { Page } from '../ui/layout/page.tsx'

const KeyDialogs = lazyPart(() => import('../features/keys/key-dialogs.tsx').then(({ KeyDialogs }) => KeyDialogs))

export function Keys() {
  const { create, ...view } = useSearch({ from: '/shell/keys' })
  const navigate = useNavigate({ from: '/keys' })
  const [chosen, setDialog] = useState<KeyDialog | null>(null)
  const dialog: KeyDialog | null = chosen ?? (create ? { kind: 'create' } : null)
  const close = () => {
    setDialog(null)
    if (create) void navigate({ search: view, replace: true })
  }
  const actions = useKeyActions(setDialog)
  const mayWrite = useMay('keys:write')
  return (
    <Page
      title={SHELL_TEXT.pagesOf.keys}
      actions={
        <>
          <SavedViews page="keys" />
          <a href={keysCsvUrl(view)} download className={buttonClass()}>
            <Download size={16} aria-hidden />
            {KEY_TEXT.csv}
          </a>
          {mayWrite && (
            <Button tone="primary" onClick={() => setDialog({ kind: 'create' })}>
              <Plus size={16} aria-hidden />
              {KEY_TEXT.create}
            </Button>
          )}
        </>
      }
    >
      <KeysList view={view} onView={(search) => void navigate({ search, replace: true })} actions={actions} />
      {dialog && <KeyDialogs dialog={dialog} onClose={close} />}
    </Page>
  )
}
