import { useEffect, useState } from 'react'
import { lazyPart } from '../ui/feedback/lazy-part.tsx'

const Palette = lazyPart(() => import('./palette.tsx').then(({ Palette }) => Palette))

/** Opens the palette on Ctrl+K or Cmd+K. Its code is loaded on first use. */
export function PaletteKey() {
  const [open, setOpen] = useState(false)
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.key.toLowerCase() !== 'k' || !(event.ctrlKey || event.metaKey) || event.shiftKey || event.altKey) return
      event.preventDefault()
      setOpen(true)
    }
    window.addEventListener('keydown', onKey)
    return () => window.removeEventListener('keydown', onKey)
  }, [])
  return open ? <Palette onClose={() => setOpen(false)} /> : null
}
