"""An assertions file read from end to end: its lines, what each says, which a filter keeps."""
