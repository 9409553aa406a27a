import '../look/base.css'
import './live.css'
import { render } from 'preact'
import { applyTheme, readTheme } from '../look/theme'
import { Live } from './Live'

applyTheme(readTheme())
render(<Live />, document.body)
