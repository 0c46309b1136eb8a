"""Forms of many kinds, for the test that sends each with a real browser."""

from __future__ import annotations

from typing import NamedTuple


class Case(NamedTuple):
    markup: str
    charset: str = "utf-8"
    css: str = "form"


CASES = {
    "plain": Case(
        "<form action=/s><input name=a value=1><input name=b value='x y&z=ä~*-._'></form>",
    ),
    "post": Case(
        "<form method=POST action=/s><input name=a value='1 2'><input name=b></form>",
    ),
    "hidden": Case(
        "<form><input type=hidden name=h value=' kept \n as is '></form>",
    ),
    "get replaces the query": Case(
        "<form action='/s?old=1&a=2#part'><input name=a value=1></form>",
    ),
    "post keeps the query": Case(
        "<form method=post action='/s?old=1#part'><input name=a></form>",
    ),
    "get of nothing": Case(
        "<form action='/s?old=1'><input value=nameless></form>",
    ),
    "post of nothing": Case(
        "<form method=post action='/s'></form>",
    ),
    "no action": Case(
        "<form><input name=a value=1></form>",
    ),
    "empty action, post": Case(
        "<form action='' method=post><input name=a value=1></form>",
    ),
    "relative action": Case(
        "<form action='../up?x'><input name=a value=1></form>",
    ),
    "base": Case(
        "<base href='/deep/er/'><form action=s><input name=a value=1></form>",
    ),
    "base and no action": Case(
        "<base href='/deep/er/'><form><input name=a value=1></form>",
    ),
    "unknown method": Case(
        "<form method=put action=/s><input name=a value=1></form>",
    ),
    "checkboxes": Case(
        "<form><input type=checkbox name=a><input type=checkbox name=b checked>"
        "<input type=checkbox name=c value=3 checked>"
        "<input type=checkbox name=d value='' checked></form>",
    ),
    "radio": Case(
        "<form><input type=radio name=r value=1 checked>"
        "<input type=radio name=r value=2 checked><input type=radio name=q value=1>"
        "<input type=radio name=p checked></form>",
    ),
    "radio of two forms": Case(
        "<form id=f><input type=radio name=r value=1 checked></form><form>"
        "<input type=radio name=r value=2 checked></form>",
        css="#f",
    ),
    "disabled": Case(
        "<form><input name=a disabled><fieldset disabled><legend>"
        "<input name=in_legend value=1></legend><legend><input name=in_second value=1>"
        "</legend><input name=b><select name=s><option>1</select></fieldset><fieldset>"
        "<input name=c value=1></fieldset></form>",
    ),
    "buttons": Case(
        "<form><input type=submit name=a value=1><button name=b value=2>x</button>"
        "<input type=image name=c><input type=reset name=d value=1>"
        "<input type=button name=e value=1><button type=button name=g value=1>y</button>"
        "<input name=z value=1></form>",
    ),
    "one choice": Case(
        "<form><select name=a><option value=1>one<option value=2>two</select><select name=b>"
        "<option>one</option><option selected>  two \n words </option></select>"
        "<select name=c><option selected>1<option selected>2</select><select name=d></select>"
        "</form>",
    ),
    "disabled options": Case(
        "<form><select name=a><option disabled>1<option>2</select><select name=b>"
        "<option disabled selected>1<option>2</select><select name=c>"
        "<option disabled>1</select><select name=d><optgroup disabled><option>1</optgroup>"
        "<option>2</select></form>",
    ),
    "groups": Case(
        "<form><select name=a><optgroup label=x><option>1<option selected>2</optgroup>"
        "<optgroup label=y><option>3</optgroup></select></form>",
    ),
    "many choices": Case(
        "<form><select name=a multiple>"
        "<option selected>1<option>2<option value=3 selected>x</select>"
        "<select name=b multiple><option>1</select><select name=c size=3>"
        "<option>1<option>2</select></form>",
    ),
    "option label": Case(
        "<form><select name=a><option label=shown>text</option></select></form>",
    ),
    "textarea": Case(
        "<form method=post><textarea name=a>\n\nfirst\nsecond\r\nthird</textarea>"
        "<textarea name=b> &lt;b&gt; </textarea><textarea name=c></textarea></form>",
    ),
    "textarea in a query": Case(
        "<form><textarea name=a>x\ny</textarea></form>",
    ),
    "file": Case(
        "<form method=post><input type=file name=f><input name=a value=1></form>",
    ),
    "multipart": Case(
        "<form method=post enctype=multipart/form-data><input name='a\"b' value='1\"ä'>"
        "<input type=file name=f><textarea name=t>x\ny</textarea></form>",
    ),
    "multipart by get": Case(
        "<form enctype=multipart/form-data><input name=a value=1></form>",
    ),
    "plain text": Case(
        "<form method=post enctype=text/plain><input name=a value='1 & 2'>"
        "<textarea name=t>x\ny</textarea></form>",
    ),
    "outside of the form": Case(
        "<input name=before value=1 form=f><form id=f><input name=in value=2>"
        "<input name=not value=3 form=other><input name=none value=4 form=''></form>"
        "<select name=after form=f><option>5</select><form id=other></form>",
        css="#f",
    ),
    "twice the same id": Case(
        "<form id=f action=/s><input name=a value=1></form><form id=f></form><input name=b form=f>",
    ),
    "in a table": Case(
        "<table><form action=/s method=post><tr><td><input name=a value=1></td></tr><tr><td>"
        "<select name=b><option>2</select></td></tr></form></table><input name=c value=3>",
    ),
    "nested": Case(
        "<form action=/s><input name=a value=1><form><input name=b value=2></form></form>",
    ),
    "kinds of values": Case(
        "<form><input type=number name=a value=' 12'><input type=number name=b value=1.5e3>"
        "<input type=email name=c value=' a@b.example '>"
        "<input type=url name=d value=' http://h/ '><input type=date name=e value=2026-02-30>"
        "<input type=date name=f value=2026-02-28><input type=range name=g value=150>"
        "<input type=color name=h value=#00ff00><input type=text name=i value=' a b '>"
        "<input type=search name=j value='a&#10;b'><input type=nonsense name=k value=1>"
        "<input type=password name=l value=p><input name=m>"
        "<input type=time name=n value=25:00><input type=tel name=o value=' 1'></form>",
    ),
    "not to be seen": Case(
        "<form><template><input name=a value=1></template><datalist><input name=b value=1>"
        "</datalist><output name=c>1</output><object name=d></object><div hidden>"
        "<input name=e value=1></div><meter name=g value=1></meter></form>",
    ),
    "charset field": Case(
        "<form><input type=hidden name=_charset_><input name=a value=ä></form>",
    ),
    "gbk": Case(
        "<form method=post><input name=名 value='中文 €😀'><input name=_charset_ type=hidden>"
        "</form>",
        charset="gbk",
    ),
    "gbk in a query": Case(
        "<form action='/s'><input name=q value='中文&'></form>",
        charset="gbk",
    ),
    "accept-charset": Case(
        "<form accept-charset='nonsense gb2312 utf-8'><input name=q value=中></form>",
    ),
    "latin": Case(
        "<form><input name=q value='é€中'></form>",
        charset="iso-8859-1",
    ),
    "shift_jis multipart": Case(
        "<form method=post enctype=multipart/form-data><input name=q value='日本😀'></form>",
        charset="shift_jis",
    ),
    "utf-16": Case(
        "<form><input name=q value='中'></form>",
        charset="utf-16",
    ),
    "direction": Case(
        "<form dir=rtl><input name=q value=x dirname=q.dir><textarea name=t dirname=d>"
        "</textarea></form>",
    ),
    "names": Case(
        "<form><input name='' value=1><input name='a[]' value=1><input name='a[]' value=2>"
        "<input name=isindex value=3></form>",
    ),
}
