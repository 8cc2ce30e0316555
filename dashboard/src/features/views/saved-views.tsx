import { Bookmark } from 'lucide-react'
import { useState } from 'react'
import type { SavedView } from '../../api/account/settings.ts'
import { VIEWS_TEXT as TEXT } from '../../messages/views.ts'
import { Button } from '../../ui/button.tsx'
import { lazyPart } from '../../ui/feedback/lazy-part.tsx'

const ViewsDialog = lazyPart(() => import('./views-dialog.tsx').then(({ ViewsDialog }) => ViewsDialog))

/** Opens the views of a page that the owner saved, and saves the current one. */
export function SavedViews({ page }: { page: SavedView['page'] }) {
  const [open, setOpen] = useState(false)
  return (
    <>
      <Button aria-haspopup="dialog" onClick={() => setOpen(true)}>
        <Bookmark size={16} aria-hidden />
        {TEXT.open}
      </Button>
      {open && <ViewsDialog page={page} onClose={() => setOpen(false)} />}
    </>
  )
}
