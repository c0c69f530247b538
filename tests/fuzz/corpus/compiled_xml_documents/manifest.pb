
½manifest"package2
com.example.app"
0x0101021b(›„„2:0**÷
ôapplication*9
7activity"+
0x01010003(ƒ€„2
com.example.app.Main*:
8activity",
0x01010003(ƒ€„2
com.example.app.Extra*n
l	meta-data"<
0x01010003(ƒ€„2)'
%com.android.dynamic.apk.fused.modules"!
0x01010024(¤€„2

base,extra